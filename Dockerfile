FROM python:3.11-slim

WORKDIR /app
COPY requirements.txt .
COPY chart_component chart_component
RUN pip install --no-cache-dir -r requirements.txt \
    && useradd --create-home --uid 1000 dashboard
# Owned by root and compiled here: the user who runs it can change nothing, and it needs nothing but /tmp to write to.
COPY . .
RUN python -m compileall -q app.py bsmath pages
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 1000

EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD python -c "import urllib.request; urllib.request.urlopen('http://localhost:8501/_stcore/health', timeout=4)"
CMD ["streamlit", "run", "app.py", "--server.port=8501", "--server.address=0.0.0.0"]
